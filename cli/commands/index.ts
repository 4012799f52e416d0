/** The registry of commands: one line each, in the order of the help. */
import type { Command } from 'commander'
import { apply } from './apply.ts'
import { auth } from './auth.ts'
import { completion } from './completion.ts'
import { config } from './config.ts'
import { diff } from './diff.ts'
import { explain } from './explain.ts'
import { gateway } from './gateway.ts'
import { keys } from './keys.ts'
import { limits } from './limits.ts'
import { run } from './run.ts'
import { simulate } from './simulate.ts'
import { status } from './status.ts'
import { trace } from './trace.ts'
import { upstream } from './upstream.ts'
import { version } from './version.ts'

export const COMMANDS: readonly Command[] = [
  run,
  config,
  diff,
  apply,
  status,
  keys,
  auth,
  limits,
  explain,
  trace,
  upstream,
  gateway,
  simulate,
  version,
  completion,
]
