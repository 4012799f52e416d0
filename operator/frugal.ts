/** Starts the program so that it takes little memory: what it keeps is small, and what it makes in passing is much. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** Node collects what was made in passing before it asks the system for more. */
const FLAGS = ['--max-semi-space-size=4', '--optimize-for-size'] as const

/** Without these, each thread of the C library keeps a separate heap, and large blocks stay once they were needed. */
const VARIABLES = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const

/**
 * Starts the program anew, in the same process, as none of this can be set later. Returns where that is done already, or
 * cannot be done. Compiled modules are kept for the next start, because what makes them of TypeScript takes 20 MiB.
 */
export function startFrugally(env: NodeJS.ProcessEnv): void {
  const { execve, execPath, execArgv, argv } = process
  // A flag given by hand wins, whichever value it has.
  const missing = FLAGS.filter((flag) => !execArgv.some((given) => nameOf(given) === nameOf(flag)))
  if (missing.length === 0 || execve === undefined) return
  const cache = env.NODE_COMPILE_CACHE ?? cacheFolder(env)
  const next = { ...VARIABLES, ...env, ...(cache && { NODE_COMPILE_CACHE: cache }) }
  try {
    execve(execPath, [execPath, ...execArgv, ...missing, ...argv.slice(1)], next)
  } catch {
    // Some systems cannot; it then takes more memory and is otherwise the same.
  }
}

function nameOf(flag: string): string {
  return flag.replace(/=.*/, '')
}

/** In the user's home folder: the process runs these modules, so no other user may write there. */
function cacheFolder({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string | undefined {
  const home = XDG_CACHE_HOME ?? (HOME === undefined ? undefined : join(HOME, '.cache'))
  if (home === undefined) return undefined
  const folder = join(home, 'gw', 'compiled')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  } catch {
    return undefined
  }
}
