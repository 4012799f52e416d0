/** The chart as an artifact in a registry: both major versions of Helm package, push and install it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from '../../dataplane/base/version.ts'
import { CHART, HELMS, type Helm, renderText } from '../helpers/kubernetes/chart.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { startOciRegistry } from '../helpers/oci-registry.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-oci-'))
const registry = await startOciRegistry()
const repository = `oci://${registry.host}/charts`
after(async () => {
  await registry.close()
  rmSync(folder, { recursive: true })
})

/** Runs Helm asynchronously, because this process is the registry. */
async function run(program: Helm, ...args: readonly string[]): Promise<string> {
  const { [program]: path = program } = await providePrograms([program])
  const env = { PATH: process.env.PATH ?? '', HOME: folder }
  const { stdout } = await promisify(execFile)(path, args, { env, maxBuffer: 1 << 26 })
  return stdout
}

for (const program of HELMS) {
  test(`${program} pushes the chart, and renders from the registry the same objects as from the folder`, async () => {
    await run(program, 'package', CHART, '--destination', folder)
    await run(program, 'push', join(folder, `gw-${VERSION}.tgz`), repository, '--plain-http')
    const { type, bytes } = registry.manifest(`charts/gw:${VERSION}`) ?? {}
    assert.equal(type, 'application/vnd.oci.image.manifest.v1+json')
    const { config } = JSON.parse(bytes?.toString() ?? '')
    assert.equal(config.mediaType, 'application/vnd.cncf.helm.config.v1+json')
    const from = [`${repository}/gw`, '--version', VERSION, '--plain-http']
    const where = ['--namespace', 'gw-system', '--kube-version', '1.34.4']
    const rendered = await run(program, 'template', 'gw', ...from, ...where)
    const kinds = (text: string) => (text.match(/^kind: .*$/gm) ?? []).sort()
    assert.deepEqual(kinds(rendered), kinds(await renderText('defaults', program)))
  })

  test(`${program} refuses a value that is not in the schema of the pushed chart`, async () => {
    const from = [`${repository}/gw`, '--version', VERSION, '--plain-http']
    await assert.rejects(
      run(program, 'template', 'gw', ...from, '--set', 'crds.instal=true'),
      /additional properties 'instal' not allowed/,
    )
  })
}
