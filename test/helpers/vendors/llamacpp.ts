/** llama.cpp: chat completions; its templates read arguments of calls as objects. */
import type { Checker } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'
import { checkCompletion, checkRerank, checkVectors } from './rules/operations.ts'

const TEXTS = { tokens: true, several: true }
/** Tokens of another model would be other words. */
const VECTORS = { several: true }

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
  else if (/\/completions$/.test(path)) checkCompletion(body, TEXTS, c)
  else if (/\/embeddings$/.test(path)) checkVectors(body, VECTORS, c)
  else if (/\/rerank$/.test(path)) checkRerank(body, undefined, c)
}
