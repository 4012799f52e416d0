/**
 * Other servers that speak Redis, from packages of a newer Debian: unpacked into a folder, not
 * installed, and run with their own loader and libraries.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Kept between runs. */
const CACHE = process.env.GW_TEST_SERVERS ?? join(tmpdir(), 'gw-test-servers')

const SUITE = 'trixie'

/** The command that starts a package's program. Rejects with installation instructions. */
export async function debianCommand(name: string, program = name): Promise<readonly string[]> {
  const root = join(CACHE, `${SUITE}-${name}`)
  if (!existsSync(join(root, 'usr/bin', program))) await unpack(name, root)
  const libraries = (await readdir(join(root, 'usr/lib'))).find((one) => one.endsWith('-linux-gnu'))
  if (libraries === undefined) throw new Error(`${root} has no libraries; remove it and try again.`)
  const folder = join(root, 'usr/lib', libraries)
  const loader = (await readdir(folder)).find((one) => one.startsWith('ld-linux'))
  if (loader === undefined)
    throw new Error(`${folder} has no loader; remove ${root} and try again.`)
  return [join(folder, loader), '--library-path', folder, join(root, 'usr/bin', program)]
}

/**
 * Into a folder with another name first, so that an interrupted run leaves no incomplete result.
 */
async function unpack(name: string, root: string): Promise<void> {
  await run('mkdir', ['-p', CACHE])
  const folder = await mkdtemp(join(CACHE, 'new-'))
  const options = ['--variant=extract', '--aptopt=APT::Install-Recommends "false"']
  try {
    await run('mmdebstrap', [
      ...options,
      `--include=${name},base-files`,
      SUITE,
      join(folder, 'root'),
    ])
    await rm(root, { recursive: true, force: true })
    await rename(join(folder, 'root'), root)
  } catch (cause) {
    const how = 'It needs mmdebstrap (apt-get install -y mmdebstrap) and a Debian mirror'
    throw new Error(`${name} of Debian ${SUITE} could not be unpacked. ${how}.`, { cause })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
