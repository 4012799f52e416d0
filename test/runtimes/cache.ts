/** Runtimes that take long to build or to fetch, and the place where they are kept. */
import { homedir } from 'node:os'
import { join } from 'node:path'

export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test')

/** A runtime that listens on this address. */
export interface Runtime {
  readonly url: string
  stop(): Promise<void>
}
