/** The configuration file as a source: read, watched, and read again on SIGHUP. */
import { readFileSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Host } from './references.ts'

/** Editors and kubelets write in several steps; a change is read once it has been quiet for this long. */
const SETTLE_MS = 100

export function hostOf(env: Host['env']): Host {
  return { env, readText, now: Date.now }
}

export function readText(path: string): string {
  return readFileSync(path, 'utf8')
}

export interface WatchOptions {
  readonly changed: () => void
  readonly unwatched: (folder: string, error: Error) => void
  readonly waiting?: boolean
}

/**
 * Calls `changed` after the file, or one of `files()` beside it, was written or replaced; also for a change that was noticed
 * already, if one is `waiting`. Folders are watched and not files: a file that is replaced by renaming would be lost from
 * sight. `unwatched` gets each folder that cannot be watched, because it is gone or the system has no watch left. Returns
 * a function that stops it, and says whether a change was noticed that has not been reported yet.
 */
export function watchFiles(
  files: readonly string[],
  { changed, unwatched, waiting = false }: WatchOptions,
): () => boolean {
  const names = new Set(files.map((file) => basename(file)))
  let timer: NodeJS.Timeout | undefined
  const settle = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = undefined
      changed()
    }, SETTLE_MS)
  }
  if (waiting) settle()
  const watchers = [...new Set(files.map((file) => dirname(file)))].flatMap((folder) => {
    try {
      const watcher = watch(folder, (_event, name) => {
        // Mounted ConfigMaps change by a link called ..data; names may be missing on some systems.
        if (name === null || names.has(name) || name.startsWith('..')) settle()
      })
      // Without a listener, the end of a watch would end the process.
      return [watcher.on('error', (error) => unwatched(folder, error))]
    } catch (error) {
      unwatched(folder, error as Error)
      return []
    }
  })
  return () => {
    const isWaiting = timer !== undefined
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
    return isWaiting
  }
}
