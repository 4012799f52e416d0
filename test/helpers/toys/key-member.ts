/**
 * A new member of keys, used as an example in tests: its declaration, and the option that writes
 * it.
 */
import type { Edit } from './edit.ts'

export const KEY_MEMBER: readonly Edit[] = [
  {
    path: 'dataplane/schema/keys.ts',
    before: '  rotated_to: name()',
    text: "  toy_owner: text().optional().describe('Owner of the key.'),\n",
  },
  {
    path: 'cli/commands/tenants/keys.ts',
    before: "  .option('--environment <name>'",
    text: "  .option('--toy_owner <name>', 'who answers for it')\n",
  },
]
