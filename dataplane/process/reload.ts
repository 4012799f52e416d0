/** Reads the configuration file again on SIGHUP, and when it or a file that it names has changed. */

import { readConfigurationApart } from '../config/apart/load-apart.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import type { Host } from '../config/document/references.ts'
import { watchFiles } from '../config/document/source.ts'
import { tlsFilesOf } from '../config/tls-files.ts'
import type { Activation } from '../gateway/activation.ts'

/** Returns a function that stops it. */
export function reloadOnChange(
  file: string,
  env: Host['env'],
  activation: Activation,
  warn: (message: string) => void,
): () => void {
  let isReading = false
  let isChanged = false
  let isEnded = false
  const beside = () => filesBeside(activation.loaded)
  const unwatched = (folder: string, { message }: Error) =>
    warn(`${folder} is not watched; after a change there, send SIGHUP: ${message}`)
  const watched = (waiting: boolean) =>
    watchFiles([file, ...beside()], { changed, unwatched, waiting })
  let unwatch = watched(false)

  /** A change during the reading is read afterwards, once for all changes. */
  async function reload(): Promise<void> {
    isReading = true
    do {
      isChanged = false
      // A link may lead to other folders now, whose changes during the reading count.
      unwatch = watched(unwatch())
      const load = await loaderOf(file, env)
      if (isEnded) return
      activation.replace(load)
      // The file may refer to other files now. A change that was noticed meanwhile is not lost.
      unwatch = watched(unwatch())
    } while (isChanged)
    isReading = false
  }

  function changed(): void {
    if (isReading) isChanged = true
    else void reload()
  }

  process.on('SIGHUP', changed)
  return () => {
    isEnded = true
    unwatch()
  }
}

/** A file that cannot be read is reported like any other reason to refuse it. */
async function loaderOf(file: string, env: Host['env']): Promise<() => Loaded> {
  try {
    const loaded = await readConfigurationApart(file, env, { isServing: true })
    return () => loaded
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** Files that the configuration names and that change separately: keys, certificates and credentials. */
function filesBeside({ keysFile, configuration, referredFiles = [] }: Loaded): string[] {
  const certificates = configuration === undefined ? [] : tlsFilesOf(configuration.gw)
  return [...(keysFile === undefined ? [] : [keysFile]), ...certificates, ...referredFiles]
}
