/** Entries of `limits[]` in one gateway that counts in memory. */
import { testFurtherLimits } from './limits/further-limits.ts'

await testFurtherLimits({}, 1)
