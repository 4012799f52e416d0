/** The clock of a test that loads this file, and of all its processes, does not reach midnight while the test runs. */
import { beginClearOf } from './wall-clock.ts'

beginClearOf(86_400_000)
