/**
 * Removes the node and all its remains, even after a crash: by recorded ids, by its folder and by
 * its cgroup.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile, readlink, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../helpers/until.ts'
import { containerCgroups } from './cgroups.ts'
import { CONTAINERS } from './containers.ts'
import { killDaemons, killQuietly } from './daemons.ts'
import { FOLDER } from './layout.ts'
import { removeNetwork } from './network.ts'
import { run } from './system.ts'

/**
 * Links to the logs of containers, and state of the network plugins: fixed places outside our
 * folder.
 */
const CONTAINER_LOGS = '/var/log/containers'
const PLUGIN_RESULTS = '/var/lib/cni/results'
const SETTINGS = join(FOLDER, 'kernel-settings.json')

/** The settings that a kubelet changes on its host. */
const KERNEL_SETTINGS = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
]

export async function removeNode(): Promise<void> {
  const containers = await readdir(CONTAINERS).catch(() => [])
  await killDaemons()
  await killContainers(containers)
  await unmountAll()
  await removeNetwork()
  await removeCgroups(containers)
  await removeLeftovers()
  await restoreKernelSettings()
  await rm(FOLDER, { recursive: true, force: true, maxRetries: 5 })
}

export async function rememberKernelSettings(): Promise<void> {
  const values: Record<string, string> = {}
  for (const name of KERNEL_SETTINGS) {
    values[name] = await readFile(join('/proc/sys', name), 'utf8').catch(() => '')
  }
  await writeFile(SETTINGS, JSON.stringify(values))
}

async function restoreKernelSettings(): Promise<void> {
  const text = await readFile(SETTINGS, 'utf8').catch(() => '{}')
  for (const [name, value] of Object.entries(JSON.parse(text))) {
    if (value !== '') await writeFile(join('/proc/sys', name), String(value)).catch(() => undefined)
  }
}

/** They keep running without the program that watched them. */
async function killContainers(ids: readonly string[]): Promise<void> {
  await until('the containers are gone', async () => {
    const pids = new Set<string>()
    for (const folder of cgroupsOf(ids)) {
      const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
      for (const pid of text.split('\n')) if (pid !== '') pids.add(pid)
    }
    for (const pid of pids) killQuietly(Number(pid))
    return pids.size === 0
  })
}

async function removeCgroups(ids: readonly string[]): Promise<void> {
  await until('the cgroups are gone', async () => {
    const folders = cgroupsOf(ids)
    for (const folder of folders) await rmdir(folder).catch(() => undefined)
    return folders.length === 0
  })
}

/** Below each controller if each has a separate tree. */
function cgroupsOf(ids: readonly string[]): string[] {
  const roots = containerCgroups()
  return roots.flatMap((root) => ids.map((id) => join(root, id))).filter(existsSync)
}

async function unmountAll(): Promise<void> {
  const text = await readFile('/proc/self/mountinfo', 'utf8')
  const points = text.split('\n').map((line) => (line.split(' ')[4] ?? '').replaceAll('\\040', ' '))
  const ours = points.filter((point) => point.startsWith(`${FOLDER}/`))
  for (const point of ours.reverse()) await run('umount', ['--lazy', point]).catch(() => undefined)
}

async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(CONTAINER_LOGS).catch(() => [])) {
    const target = await readlink(join(CONTAINER_LOGS, name)).catch(() => '')
    if (target.startsWith(`${FOLDER}/`)) await rm(join(CONTAINER_LOGS, name), { force: true })
  }
  for (const name of await readdir(PLUGIN_RESULTS).catch(() => [])) {
    const text = await readFile(join(PLUGIN_RESULTS, name), 'utf8').catch(() => '')
    if (text.includes(`${FOLDER}/`)) await rm(join(PLUGIN_RESULTS, name), { force: true })
  }
}
