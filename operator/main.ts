/** The program: `node operator/main.ts`. run.ts composes the parts. */
import { type Start, startAnew } from '../dataplane/base/start-anew.ts'
import type { PodNetwork } from './delivery/targets.ts'

/** The operator keeps few objects and makes many short-lived ones. */
const FRUGAL: Start = {
  /** Makes Node collect short-lived objects before it requests more memory. */
  flags: ['--max-semi-space-size=4', '--optimize-for-size'],
  /** Without these, each thread of the C library keeps a separate heap, and large blocks stay after use. */
  variables: {
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '131072',
    MALLOC_TRIM_THRESHOLD_: '131072',
  },
}

/** Registered first, because the first process of a container does not end on signals by default. */
function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}

export async function main(network?: PodNetwork): Promise<never> {
  startAnew(FRUGAL, process.env)
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
