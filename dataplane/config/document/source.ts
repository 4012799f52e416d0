/** The configuration file as a source: read, watched, and read again on SIGHUP. */
import { readFileSync, readlinkSync, watch } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import type { Host } from './references.ts'

/** Editors and kubelets write in several steps; a change is read once it has been quiet for this long. */
const SETTLE_MS = 100
/** As many as Linux follows on the way to a file. */
const LINKS_MAX = 40

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
 * Calls `changed` after one of the files was written or replaced; also for a change that was noticed already, if one is
 * `waiting`. Folders are watched and not files: a file that is replaced by renaming would be lost from sight. Behind
 * symbolic links these are the folders of the file and of each link on the way to it. `unwatched` gets each folder that
 * cannot be watched, because it is gone or the system has no watch left. Returns a function that stops it, and says
 * whether a change was noticed that has not been reported yet.
 */
export function watchFiles(
  files: readonly string[],
  { changed, unwatched, waiting = false }: WatchOptions,
): () => boolean {
  const watched = namesByFolder(files)
  let timer: NodeJS.Timeout | undefined
  const settle = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = undefined
      changed()
    }, SETTLE_MS)
  }
  if (waiting) settle()
  const watchers = [...watched].flatMap(([folder, names]) => {
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

function namesByFolder(files: readonly string[]): Map<string, Set<string>> {
  const watched = new Map<string, Set<string>>()
  for (const [folder, name] of files.flatMap(stepsTo)) {
    watched.set(folder, (watched.get(folder) ?? new Set()).add(name))
  }
  return watched
}

/** The folder and name of each symbolic link on the way to a file, and of the file itself. */
function stepsTo(file: string): [folder: string, name: string][] {
  const steps: [folder: string, name: string][] = []
  const left = resolve(file).split('/')
  let folder = '/'
  let links = 0
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const target = name === '' || links === LINKS_MAX ? undefined : linkAt(join(folder, name))
    if (target !== undefined || left.length === 0) steps.push([folder, name])
    if (target === undefined) {
      folder = join(folder, name)
      continue
    }
    links++
    left.unshift(...target.split('/'))
    if (isAbsolute(target)) folder = '/'
  }
  return steps
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
