/** The program: `node dataplane/main.ts --config FILE`. Everything it composes is in run.ts. */
import { parseArgs } from 'node:util'
import { relaunch } from './relaunch.ts'

/** Runs the gateway of a file until a signal ends it. Resolves with the exit code. */
export async function run(file: string): Promise<number> {
  relaunch()
  // Listened for before anything else: as the first process of a container it would not be ended by default.
  const ending = terminated()
  const program = await import('./run.ts')
  return await program.run(file, process.env, ending)
}

/** Resolves with the first SIGTERM or SIGINT; it goes on listening, so that a second one never ends the process unasked. */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve())
    process.on('SIGINT', () => resolve())
  })
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { config: { type: 'string' } } })
  if (values.config === undefined) {
    process.stderr.write('error: say which configuration: node dataplane/main.ts --config FILE\n')
    process.exit(64)
  }
  process.exit(await run(values.config))
}
