/** SGLang: chat completions; its templates read arguments of calls as objects. */
import type { Checker } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'

const RULES = {
  roles: 'system developer user assistant tool function',
  callId: /./s,
  name: /./s,
  objectArguments: true,
  idsMayRepeat: true,
  toolPictures: true,
}

export const sglang: Checker = ({ path, body }, c) => {
  if (path.includes('/chat/completions')) checkChat(body, RULES, c)
}
