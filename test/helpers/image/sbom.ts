/**
 * Writes the content of the image, as CycloneDX, to the given file: every package of the lock file except development
 * ones.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const FOR_DEVELOPMENT = 'cdx:npm:package:development'

/** A package that has only types; the image omits it, like optional ones. */
const FOR_TYPES = 'typescript'

interface Component {
  readonly name: string
  readonly scope?: string
  readonly 'bom-ref': string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

interface Dependency {
  readonly ref: string
  readonly dependsOn?: readonly string[]
}

export interface Bill {
  readonly bomFormat: string
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}

/** npm's own `--omit dev` omits packages that development tools need too, even if the programs need them. */
export function makeBill(): Bill {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const { status, stdout, stderr } = spawnSync('npm', [...args, '--package-lock-only'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(`npm sbom ended with ${status}:\n${stderr}`)
  const whole: Bill = JSON.parse(stdout)
  const components = whole.components.filter(
    ({ name, scope, properties = [] }) =>
      name !== FOR_TYPES &&
      scope !== 'optional' &&
      !properties.some(({ name, value }) => name === FOR_DEVELOPMENT && value === 'true'),
  )
  const left = new Set(
    whole.components.filter((one) => !components.includes(one)).map((one) => one['bom-ref']),
  )
  const dependencies = whole.dependencies
    .filter(({ ref }) => !left.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((one) => !left.has(one)),
    }))
  return { ...whole, components, dependencies }
}

if (import.meta.main) {
  const [file] = process.argv.slice(2)
  const text = `${JSON.stringify(makeBill(), null, 2)}\n`
  if (file === undefined) process.stdout.write(text)
  else {
    writeFileSync(file, text)
    process.stdout.write(`${file}\n`)
  }
}
