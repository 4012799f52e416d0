/** The program: `node operator/main.ts`. run.ts composes the parts. */
import type { PodNetwork } from './delivery/targets.ts'
import { startFrugally } from './frugal.ts'

/** Listens before anything else: the first process of a container does not end by default. */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}

export async function main(network?: PodNetwork): Promise<never> {
  startFrugally(process.env)
  const ending = terminated()
  try {
    const program = await import('./run.ts')
    process.exit(await program.run(process.env, ending, network))
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof TypeError ? 64 : 1)
  }
}

if (import.meta.main) await main()
