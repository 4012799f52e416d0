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

/** The host's Redis with the libraries that it names, as an image. */
export async function provideRedisImage(): Promise<string> {
  const program = (await run('sh', ['-c', 'readlink -f "$(command -v redis-server)"'])).trim()
  const libraries = (await run('ldd', [program])).matchAll(/(\/\S+) \(0x/g)
  const folder = await mkdtemp(join(FOLDER, 'image-'))
  for (const path of [program, ...[...libraries].map(([, library = '']) => library)]) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await copyFile(path, join(folder, path))
  }
  // It tells by its name what it is to be.
  const place = join(folder, 'usr/bin/redis-server')
  await copyFile(program, place)
  await mkdir(join(folder, 'tmp'), { mode: 0o777, recursive: true })
  await importFolder({ name: REDIS_IMAGE, folder, command: ['/usr/bin/redis-server'] })
  await rm(folder, { recursive: true })
  return REDIS_IMAGE
}
