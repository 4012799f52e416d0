/** `up` starts the node and prints how to use it, `down` removes it. */
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { providePrograms } from '../../helpers/kubernetes/programs.ts'
import { FOLDER, KUBECONFIG, NETWORK } from './layout.ts'
import { ensureNode } from './node.ts'
import { removeNode } from './remove.ts'

const PROGRAMS = join(FOLDER, 'bin')

async function main(): Promise<number> {
  const [command] = process.argv.slice(2)
  if (command === 'down') {
    await removeNode()
    process.stdout.write('The node is removed.\n')
    return 0
  }
  if (command !== 'up') {
    process.stderr.write('usage: node test/e2e/node/main.ts up | down\n')
    return 64
  }
  const startedAt = performance.now()
  const isNew = await ensureNode()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  process.stdout.write(isNew ? `The node is ready after ${seconds} s.\n` : 'The node runs.\n')
  await linkPrograms()
  process.stdout.write(`
Its addresses exist in its own network namespace only. A shell in it:

  nsenter --net=${NETWORK} env KUBECONFIG=${KUBECONFIG} PATH=${PROGRAMS}:$PATH bash

There:

  kubectl get pods -A
  helm list -A

make cluster-down removes it.
`)
  return 0
}

async function linkPrograms(): Promise<void> {
  await mkdir(PROGRAMS, { recursive: true })
  for (const [name, path] of Object.entries(await providePrograms(['kubectl', 'helm']))) {
    await rm(join(PROGRAMS, name), { force: true })
    await symlink(path, join(PROGRAMS, name))
  }
}

process.exit(await main())
