/** The member of a client's request that counts towards the context window. */
import type { ModelRequest, Operation } from '../wire/inner-form.ts'

const MEMBERS: Readonly<Record<Operation, string>> = {
  chat: 'messages',
  completions: 'prompt',
  embeddings: 'input',
  rerank: 'documents',
  transcription: 'file',
}
/** The client's wire in which this member has another name. */
const RESPONSES = 'openai-responses'

export function inputMember({ operation, wire }: Pick<ModelRequest, 'operation' | 'wire'>): string {
  return wire === RESPONSES ? 'input' : MEMBERS[operation]
}
