/** The member of a client's request that the context window has to hold. */
import type { ModelRequest, Operation } from '../wire/inner-form.ts'

const MEMBERS: Readonly<Record<Operation, string>> = {
  chat: 'messages',
  completions: 'prompt',
  embeddings: 'input',
  rerank: 'documents',
  transcription: 'file',
}
/** The client's wire in which a conversation has another name. */
const RESPONSES = 'openai-responses'

export function inputMember({ operation, wire }: Pick<ModelRequest, 'operation' | 'wire'>): string {
  return wire === RESPONSES ? 'input' : MEMBERS[operation]
}
