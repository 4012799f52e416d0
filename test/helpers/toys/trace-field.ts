/** A field of a trace that is new to the tree: its declaration, and the line that writes it. */
import type { Edit } from './edit.ts'

export const TRACE_FIELD: readonly Edit[] = [
  {
    path: 'dataplane/telemetry/trace/fields.ts',
    before: '  trace_flags: number(',
    text: `  toy_note: text({
    what: 'a toy',
    in: ['log', 'span', 'record', 'event'],
    tree: 'note of the toy',
    console: 'toy',
  }),
`,
  },
  {
    path: 'dataplane/request/notes.ts',
    before: '    trace.key = key.record.id',
    text: "    trace.toy_note = 'planted'\n",
  },
]
