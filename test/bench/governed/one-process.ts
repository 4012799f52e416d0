/** A system that is one process with a folder for its files. */
import { rmSync } from 'node:fs'
import { KEY, ROUTE } from '../gateway.ts'
import { type Process, untilReady } from '../processes.ts'
import type { Running } from './system.ts'

interface Place {
  readonly folder: string
  readonly port: number
  readonly healthPath: string
}

/** Resolves once it serves; its end removes its folder. */
export async function untilServing(
  started: Process,
  { folder, port, healthPath }: Place,
): Promise<Pick<Running, 'urls' | 'key' | 'model' | 'stop'>> {
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    await started.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  await untilReady(started, url + healthPath)
  return { urls: [url], key: KEY, model: ROUTE, stop }
}
