/** Our image and what stands for public ones, built from the tree and given to the node of this machine. */
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { VERSION } from '../../dataplane/version.ts'
import { provideBase } from '../image/base.ts'
import { buildImage, importBase } from '../image/build.ts'
import { importArchive, importFolder } from '../node/images.ts'
import { FOLDER } from '../node/layout.ts'
import { run } from '../node/system.ts'

const REDIS_IMAGE = 'localhost/gw-test/redis:1'
const PROMETHEUS_IMAGE = 'localhost/gw-test/prometheus:1'
const BASE = 'localhost/gw-test/base:1'
/** Where the chart looks for it if it is told nothing. */
const IMAGE = `localhost/gw:${VERSION}`

/** The name of the image, which the node has. */
export async function provideImage(): Promise<string> {
  const storage = join(FOLDER, 'image-storage')
  const output = join(FOLDER, 'gw.tar')
  importBase(provideBase(), BASE, storage)
  buildImage({ image: IMAGE, base: BASE, output, storage, tool: 'buildah' })
  await importArchive(output)
  await rm(output)
  await rm(storage, { recursive: true })
  return IMAGE
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

/** A program of the host with the libraries that it names, as an image that runs it. */
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
  // Some tell by their name what they are to be.
  const place = join(folder, 'usr/bin', name)
  if (place !== join(folder, program)) await copyFile(program, place)
  await mkdir(join(folder, 'tmp'), { mode: 0o777, recursive: true })
  await importFolder({ name: image, folder, command: [join('/usr/bin', name)] })
  await rm(folder, { recursive: true })
}
