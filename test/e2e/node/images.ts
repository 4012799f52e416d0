/** Images without a registry: a folder becomes an image of the node. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CONTAINERD, FOLDER } from './layout.ts'
import { BUSYBOX, run } from './system.ts'

export interface ImageSource {
  readonly name: string
  /** Its parts. */
  readonly folder: string
  readonly command: readonly string[]
}

/**
 * Replaces a pause image and small helper images: a shell, an HTTP server, look-ups, and a DNS
 * server.
 */
export const TOOLS = 'localhost/gw-test/tools:1'

/** A tools container without a command keeps the pod's namespaces open. */
const PAUSE = ['/bin/sleep', '2147483647']

export async function importToolsImage(coredns: string): Promise<void> {
  const folder = await mkdtemp(join(FOLDER, 'image-'))
  await mkdir(join(folder, 'bin'))
  await mkdir(join(folder, 'tmp'))
  await chmod(join(folder, 'tmp'), 0o1777)
  await copyFile(BUSYBOX, join(folder, 'bin/busybox'))
  for (const applet of (await run(BUSYBOX, ['--list'])).trim().split('\n')) {
    if (applet !== 'busybox') await symlink('busybox', join(folder, 'bin', applet))
  }
  await copyFile(coredns, join(folder, 'bin/coredns'))
  await importFolder({ name: TOOLS, folder, command: PAUSE })
  await rm(folder, { recursive: true })
}

/**
 * Writes a folder as an archive of one layer, like `docker save`, and imports it into containerd.
 */
export async function importFolder({ name, folder, command }: ImageSource): Promise<void> {
  const parts = await mkdtemp(join(FOLDER, 'archive-'))
  // It becomes the root folder, which every user must be able to enter.
  await chmod(folder, 0o755)
  await run('tar', ['--numeric-owner', '-C', folder, '-cf', join(parts, 'layer.tar'), '.'])
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: command, Env: ['PATH=/usr/local/bin:/usr/bin:/bin'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${await digestOf(join(parts, 'layer.tar'))}`] },
  }
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]
  await writeFile(join(parts, 'config.json'), JSON.stringify(config))
  await writeFile(join(parts, 'manifest.json'), JSON.stringify(manifest))
  const archive = join(parts, 'image.tar')
  await run('tar', ['-C', parts, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar'])
  await importArchive(archive)
  await rm(parts, { recursive: true })
}

export async function importArchive(archive: string): Promise<void> {
  await run('ctr', ['-a', CONTAINERD, '-n', 'k8s.io', 'images', 'import', archive])
}

async function digestOf(file: string): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file), digest)
  return digest.digest('hex')
}
