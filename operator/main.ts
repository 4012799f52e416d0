/** The program: `node operator/main.ts`. What it composes is in run.ts. */
import { startFrugally } from './frugal.ts'

/** Listened for before anything else: as the first process of a container it would not be ended by default. */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}

if (import.meta.main) {
  startFrugally(process.env)
  const ending = terminated()
  try {
    const program = await import('./run.ts')
    process.exit(await program.run(process.env, ending))
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof TypeError ? 64 : 1)
  }
}
