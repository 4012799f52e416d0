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

/**
 * Calls `changed` after the file, or one of `files()` beside it, was written or replaced; also for a change that was noticed
 * already, if one is `waiting`. Folders are watched and not files: a file that is replaced by renaming would be lost from
 * sight. Returns a function that stops it, and says whether a change was noticed that has not been reported yet.
 */
export function watchFiles(
  files: readonly string[],
  changed: () => void,
  waiting = false,
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
  const watchers = [...new Set(files.map((file) => dirname(file)))].map((folder) =>
    watch(folder, (_event, name) => {
      // Mounted ConfigMaps change by a link called ..data; names may be missing on some systems.
      if (name === null || names.has(name) || name.startsWith('..')) settle()
    }),
  )
  return () => {
    const isWaiting = timer !== undefined
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
    return isWaiting
  }
}
