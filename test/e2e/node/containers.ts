/** The containers of the node as processes of this machine. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTAINERD_STATE } from './layout.ts'

/** A folder for each container, named by its id. */
export const CONTAINERS = join(CONTAINERD_STATE, 'io.containerd.runtime.v2.task/k8s.io')

/** The id of its first process. */
export async function containerProcess(id: string): Promise<number> {
  return Number(await readFile(join(CONTAINERS, id, 'init.pid'), 'utf8'))
}
