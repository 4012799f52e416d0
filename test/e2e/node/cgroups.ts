/** The cgroups of the containers, and what they weigh against everything else on this machine. */
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
/** As containerd calls them where the kubelet names no other. */
const CONTAINERS = 'k8s.io'

/** All pods together otherwise get as much as one single process of the host: these are eight. */
const SHARES = '8192'
const WEIGHT = '800'

export async function raiseContainers(): Promise<void> {
  const [shares, weight] = ['cpu/k8s.io/cpu.shares', 'k8s.io/cpu.weight']
  if (existsSync(join(ROOT, 'cpu'))) {
    await mkdir(join(ROOT, 'cpu', CONTAINERS), { recursive: true })
    await writeFile(join(ROOT, shares), SHARES)
  } else if (existsSync(join(ROOT, weight))) await writeFile(join(ROOT, weight), WEIGHT)
}

/** One where there is one tree for all controllers, else one below each. */
export function containerCgroups(): string[] {
  const roots = [ROOT, ...readdirSync(ROOT).map((name) => join(ROOT, name))]
  return roots.map((root) => join(root, CONTAINERS)).filter(existsSync)
}
