/** llama.cpp: chat completions; its templates read arguments of calls as objects. */
import type { Checker } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'

const RULES = {
  roles: 'system developer user assistant tool',
  callId: /./s,
  name: /./s,
  objectArguments: true,
  idsMayRepeat: true,
  toolPictures: true,
}

export const llamacpp: Checker = ({ path, body }, c) => {
  if (path.includes('/chat/completions')) checkChat(body, RULES, c)
}
