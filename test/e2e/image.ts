/**
 * Our image and replacements of public images, built from the tree and imported into this machine's
 * node.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { VERSION } from '../../dataplane/base/version.ts'
import { provideBase } from '../helpers/image/base.ts'
import { buildImage, importBase } from '../helpers/image/build.ts'
import { importArchive, importFolder } from './node/images.ts'
import { FOLDER } from './node/layout.ts'
import { run } from './node/system.ts'

const REDIS_IMAGE = 'localhost/gw-test/redis:1'
const PROMETHEUS_IMAGE = 'localhost/gw-test/prometheus:1'
const BASE = 'localhost/gw-test/base:1'
/** The name that the chart uses by default. */
const IMAGE = `localhost/gw:${VERSION}`

/** The source of the chart in `former`, in a tree with its history. */
const FORMER_IMAGE = 'localhost/gw-test/former:1'
const FORMER_COMMIT = join(import.meta.dirname, 'former/commit')

export interface Images {
  readonly image: string
  readonly former?: string
}

/** The names of the images in the node. */
export async function provideImages(withFormer: boolean): Promise<Images> {
  const storage = join(FOLDER, 'image-storage')
  importBase(provideBase(), BASE, storage)
  const build = async (image: string, context?: string) => {
    const output = join(FOLDER, 'gw.tar')
    const place = { base: BASE, output, storage, tool: 'buildah' }
    buildImage({ image, ...place, ...(context !== undefined && { context }) })
    await importArchive(output)
    await rm(output)
  }
  await build(IMAGE)
  const tree = withFormer ? await formerTree() : undefined
  if (tree !== undefined) {
    await build(FORMER_IMAGE, tree)
    await rm(tree, { recursive: true })
  }
  await rm(storage, { recursive: true })
  return { image: IMAGE, ...(tree !== undefined && { former: FORMER_IMAGE }) }
}

/** Undefined if the history of this tree does not go back that far. */
async function formerTree(): Promise<string | undefined> {
  const commit = (await readFile(FORMER_COMMIT, 'utf8')).trim()
  const folder = await mkdtemp(join(FOLDER, 'former-'))
  const archive = join(folder, 'former.tar')
  try {
    await run('git', ['-C', import.meta.dirname, 'cat-file', '-e', `${commit}^{tree}`])
  } catch {
    return undefined
  }
  const root = ['-C', join(import.meta.dirname, '../..')]
  await run('git', [...root, 'archive', '--output', archive, commit])
  await run('tar', ['-x', '-C', folder, '-f', archive])
  await rm(archive)
  return folder
}

/** The host's Redis. */
export async function provideRedisImage(): Promise<string> {
  await importProgram(REDIS_IMAGE, 'redis-server')
  return REDIS_IMAGE
}

/** The host's Prometheus. */
export async function providePrometheusImage(): Promise<string> {
  await importProgram(PROMETHEUS_IMAGE, 'prometheus')
  return PROMETHEUS_IMAGE
}

/** A host program with its libraries, as an image that runs it. */
async function importProgram(image: string, name: string): Promise<void> {
  const find = ['-c', `readlink -f "$(command -v ${name})"`]
  const program = (await run('sh', find)).trim()
  if (program === '') throw new Error(`${name} is needed; .ci/run names the packages.`)
  const libraries = (await run('ldd', [program])).matchAll(/(\/\S+) \(0x/g)
  const folder = await mkdtemp(join(FOLDER, 'image-'))
  for (const path of [program, ...[...libraries].map(([, library = '']) => library)]) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await copyFile(path, join(folder, path))
  }
  // Some programs choose their role by their name.
  const place = join(folder, 'usr/bin', name)
  if (place !== join(folder, program)) await copyFile(program, place)
  await mkdir(join(folder, 'tmp'), { mode: 0o777, recursive: true })
  await importFolder({ name: image, folder, command: [join('/usr/bin', name)] })
  await rm(folder, { recursive: true })
}
