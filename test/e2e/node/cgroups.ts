/**
 * The cgroups of the containers, and their CPU weight compared with other processes of this
 * machine.
 */
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
/** The names that containerd uses if the kubelet sets no others. */
const CONTAINERS = 'k8s.io'

/**
 * Without this, all pods together get as much CPU as one host process; now they get as much as
 * eight.
 */
const SHARES = '8192'
const WEIGHT = '800'

export async function raiseContainers(): Promise<void> {
  const [shares, weight] = ['cpu/k8s.io/cpu.shares', 'k8s.io/cpu.weight']
  if (existsSync(join(ROOT, 'cpu'))) {
    await mkdir(join(ROOT, 'cpu', CONTAINERS), { recursive: true })
    await writeFile(join(ROOT, shares), SHARES)
  } else if (existsSync(join(ROOT, weight))) await writeFile(join(ROOT, weight), WEIGHT)
}

/** One path if all controllers share a tree, else one for each. */
export function containerCgroups(): string[] {
  const roots = [ROOT, ...readdirSync(ROOT).map((name) => join(ROOT, name))]
  return roots.map((root) => join(root, CONTAINERS)).filter(existsSync)
}
