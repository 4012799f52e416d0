/** Each selector of `limits[]` with each measure, in one gateway that counts in memory. */
import { testEveryDimension } from './limits/every-dimension.ts'

await testEveryDimension({}, 1)
