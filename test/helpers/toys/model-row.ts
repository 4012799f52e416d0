/** A model that is new to the tree: its row in the folder of its provider. */
import type { Edit } from './edit.ts'

export const MODEL_ROW: readonly Edit[] = [
  {
    path: 'dataplane/providers/cohere/models.ts',
    before: '  // These models refuse requests for thinking.',
    text: "  { of: /^toy-model$/, contextWindow: 12_345, checked: '2026-11-26', source: 'a toy' },\n",
  },
]
