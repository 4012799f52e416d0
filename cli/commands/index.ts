/** The registry of commands: one line each, in the order of the help. */
import type { Command } from 'commander'
import { apply } from './apply.ts'
import { config } from './config.ts'
import { diff } from './diff.ts'
import { explain } from './explain.ts'
import { keys } from './keys.ts'
import { limits } from './limits.ts'
import { run } from './run.ts'
import { simulate } from './simulate.ts'

export const COMMANDS: readonly Command[] = [
  run,
  config,
  diff,
  apply,
  keys,
  limits,
  explain,
  simulate,
]
