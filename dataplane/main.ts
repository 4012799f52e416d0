/** The program: `--config FILE` alone, `--bundle FOLDER` in a pod. What it composes is in run.ts and run-pod.ts. */
import { parseArgs } from 'node:util'
import { startFromCompiled } from './compile-cache.ts'

/** Runs the gateway of a file until a signal ends it. Resolves with the exit code. */
export async function run(file: string): Promise<number> {
  startFromCompiled(process.env)
  // Listened for before anything else: as the first process of a container it would not be ended by default.
  const ending = terminated()
  const program = await import('./run.ts')
  return await program.run(file, process.env, ending)
}

/** Runs the gateway of a pod on the signed documents that are mounted and pushed. */
async function runPod(folder: string): Promise<number> {
  startFromCompiled(process.env)
  const ending = terminated()
  const program = await import('./run-pod.ts')
  return await program.runPod(folder, process.env, ending)
}

/** Resolves with the first SIGTERM or SIGINT; it goes on listening, so that a second one never ends the process unasked. */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve())
    process.on('SIGINT', () => resolve())
  })
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { config: { type: 'string' }, bundle: { type: 'string' } },
  })
  const bundle = values.bundle ?? (values.config === undefined && process.env.GW_BUNDLE_DIR)
  if ((values.config === undefined) === !bundle) {
    process.stderr.write(
      'error: say which configuration: node dataplane/main.ts --config FILE, or --bundle FOLDER (GW_BUNDLE_DIR) in a pod\n',
    )
    process.exit(64)
  }
  process.exit(await (bundle ? runPod(bundle) : run(values.config ?? '')))
}
