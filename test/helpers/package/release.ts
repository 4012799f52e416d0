/** `make release`: all parts of a release, in `.cache/release`, without a network; and how to publish it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { VERSION } from '../../../dataplane/base/version.ts'
import { BuildError, buildImage } from '../image/build.ts'
import { baseFault } from '../image/pinned-base.ts'
import { makeBill } from '../image/sbom.ts'
import { CHART, runHelm } from '../kubernetes/chart.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDER = join(ROOT, '.cache/release')
const PROCESSORS = ['amd64', 'arm64']
const SUMS = 'SHA256SUMS'
/** Helm and npm give their archives the same name. */
const CHARTS = join(FOLDER, 'charts')

if (import.meta.main) process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { base: { type: 'string' } } })
  const fault = typesFault() ?? baseFault({ base: values.base, release: true })
  if (fault !== undefined) {
    process.stderr.write(`error: ${fault}\n`)
    return 1
  }
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', FOLDER], { cwd: ROOT })
  await packChart()
  writeFileSync(join(FOLDER, 'gw.cdx.json'), `${JSON.stringify(makeBill(), null, 2)}\n`)
  const missing = PROCESSORS.flatMap((processor) => imageFault(processor, values.base) ?? [])
  writeFileSync(join(FOLDER, SUMS), sums())
  process.stdout.write(summary(missing))
  return missing.length === 0 ? 0 : 1
}

/** Later types need another version, which is only detected with a record of these. */
function typesFault(): string | undefined {
  const recorded = readFileSync(join(ROOT, 'crds/release/released.json'), 'utf8')
  if (VERSION in JSON.parse(recorded)) return undefined
  return `The types of ${VERSION} are not recorded. Run: node crds/generate.ts --released, and commit what it writes`
}

async function packChart(): Promise<void> {
  const { status, stderr } = await runHelm('helm', ['package', CHART, '--destination', CHARTS])
  if (status !== 0) throw new Error(`helm package ended with ${status}:\n${stderr}`)
}

/** A base that is missing here and cannot be fetched omits one image, and nothing else. */
function imageFault(processor: string, base: string | undefined): string | undefined {
  const output = join(FOLDER, `gw-${VERSION}-linux-${processor}.tar`)
  const image = `localhost/gw:${VERSION}-${processor}`
  try {
    buildImage({ image, base, output, platform: `linux/${processor}` })
    return undefined
  } catch (error) {
    if (!(error instanceof BuildError)) throw error
    return `The image for ${processor} is missing: ${error.message}`
  }
}

function files(): string[] {
  const entries = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  const found = entries.filter((entry) => entry.isFile())
  return found.map(({ parentPath, name }) => relative(FOLDER, join(parentPath, name))).sort()
}

function sums(): string {
  const lines = files().map((file) => {
    const digest = createHash('sha256').update(readFileSync(join(FOLDER, file)))
    return `${digest.digest('hex')}  ${file}`
  })
  return `${lines.join('\n')}\n`
}

function summary(missing: readonly string[]): string {
  const archive = (processor: string) => `docker-archive:gw-${VERSION}-linux-${processor}.tar`
  const images = PROCESSORS.map(
    (processor) =>
      `  skopeo copy ${archive(processor)} docker://REGISTRY/gw:${VERSION}-${processor}`,
  )
  const names = PROCESSORS.map((processor) => `REGISTRY/gw:${VERSION}-${processor}`)
  return [
    `In ${FOLDER}:`,
    ...files().map((file) => `  ${file}`),
    ...missing,
    '',
    'To publish it, sign and push, from that folder:',
    `  sha256sum --check ${SUMS}`,
    `  gpg --armor --detach-sign ${SUMS}`,
    ...images,
    `  docker buildx imagetools create --tag REGISTRY/gw:${VERSION} ${names.join(' ')}`,
    `  cosign attest --type cyclonedx --predicate gw.cdx.json REGISTRY/gw:${VERSION}`,
    `  helm push charts/gw-${VERSION}.tgz oci://REGISTRY/charts`,
    '  npm publish needs a name that is yours: "private" in package.json keeps this one off the registry.',
    '',
  ].join('\n')
}
