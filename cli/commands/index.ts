/** The registry of commands, in the order of the help. */
import type { Command } from 'commander'
import { completion } from './completion.ts'
import { doctor } from './doctor.ts'
import { apply } from './documents/apply.ts'
import { config } from './documents/config.ts'
import { diff } from './documents/diff.ts'
import { expose } from './documents/expose.ts'
import { importing } from './documents/import.ts'
import { init } from './init.ts'
import { rollout, shadow } from './rollout.ts'
import { run } from './run.ts'
import { liveConsole } from './running/console.ts'
import { context } from './running/context.ts'
import { explain } from './running/explain.ts'
import { gateway } from './running/gateway.ts'
import { guardrail } from './running/guardrail.ts'
import { logs } from './running/logs.ts'
import { models } from './running/models.ts'
import { status } from './running/status.ts'
import { tokens } from './running/tokens.ts'
import { top } from './running/top.ts'
import { trace } from './running/trace.ts'
import { upstream } from './running/upstream.ts'
import { vector } from './running/vector.ts'
import { wait } from './running/wait.ts'
import { why } from './running/why.ts'
import { simulate } from './simulate.ts'
import { auth } from './tenants/auth.ts'
import { keys } from './tenants/keys.ts'
import { limits } from './tenants/limits.ts'
import { pricing } from './tenants/pricing.ts'
import { usage } from './tenants/usage.ts'
import { version } from './version.ts'

/** By the headings of the help. */
export type Groups = Readonly<Record<string, readonly Command[]>>

export const GROUPS: Groups = {
  'Start:': [init, importing, run, simulate],
  'Configuration:': [config, diff, apply, expose],
  'State:': [status, why, wait, models, rollout, shadow, top, logs, liveConsole],
  'Clients:': [keys, auth, limits, usage, pricing],
  'Requests:': [explain, trace, context],
  'Tests:': [gateway, upstream, vector, guardrail, tokens],
  'Tool:': [doctor, version, completion],
}

export const COMMANDS: readonly Command[] = Object.values(GROUPS).flat()
