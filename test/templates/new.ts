/** Begins a provider or an API: copies its template and adds its line to the index. `node new.ts provider|api NAME` */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TEMPLATES = import.meta.dirname
const ROOT = join(TEMPLATES, '../..')
/** Words of the templates that become the name. */
const PLACEHOLDER = /template/g

interface Kind {
  readonly folder: string
  /** The copied folders and their targets; `NAME` is the name. */
  readonly copies: readonly (readonly [from: string, to: string])[]
  readonly line: (name: string) => string
  readonly entry: RegExp
  readonly next: (name: string) => readonly string[]
}

const KINDS: Readonly<Record<string, Kind>> = {
  provider: {
    folder: 'dataplane/providers',
    copies: [
      ['provider', 'dataplane/providers/NAME'],
      ['provider-fixtures', 'test/fixtures/providers/NAME'],
    ],
    line: (name) => `import { facts as ${name} } from './${name}/facts.ts'`,
    entry: /\n}\n\nexport type ProviderName/,
    next: (name) => [
      `Write down what is known about it in dataplane/providers/${name}/facts.ts.`,
      `Put recorded answers into test/fixtures/providers/${name}/ and translate them.`,
      'npm run generate && node --test test/conformance/providers.test.ts',
    ],
  },
  api: {
    folder: 'dataplane/apis',
    copies: [
      ['api', 'dataplane/apis/NAME'],
      ['api-test', 'test/dataplane/apis/NAME'],
    ],
    line: (name) => `import { ${name} } from './${name}/api.ts'`,
    entry: /\n\]\n$/,
    next: (name) => [
      `Read its bodies and write its answers in dataplane/apis/${name}/.`,
      `npm run generate && node --test 'test/dataplane/apis/${name}/*.test.ts'`,
    ],
  },
}

function begin(kind: Kind, name: string): void {
  for (const [from, to] of kind.copies) copy(from, to.replace('NAME', name), name)
  const index = join(ROOT, kind.folder, 'index.ts')
  const text = readFileSync(index, 'utf8')
  const [before, after] = [text.search(/^import /m), text.search(kind.entry)]
  const imports = `${kind.line(name)}\n${text.slice(before, after)}`
  writeFileSync(index, `${text.slice(0, before)}${imports}\n  ${name},${text.slice(after)}`)
}

function copy(from: string, to: string, name: string): void {
  const target = join(ROOT, to)
  if (existsSync(target)) throw new Error(`${to} is there already; choose another name.`)
  cpSync(join(TEMPLATES, from), target, { recursive: true })
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    writeFileSync(file, atHome(readFileSync(file, 'utf8').replace(PLACEHOLDER, name), to))
    // The runner of tests takes no template for a test.
    if (file.endsWith('.template')) renameSync(file, file.slice(0, -'.template'.length))
  }
}

/** Imports as they are written in the folder that a file goes to. */
function atHome(text: string, to: string): string {
  const [, folder = ''] = /^(dataplane\/\w+)\//.exec(to) ?? []
  if (folder === '') return text
  return text
    .replaceAll(`'../../../${folder}/`, "'../")
    .replaceAll("'../../../dataplane/", "'../../")
}

const [what = '', name = ''] = process.argv.slice(2)
const kind = KINDS[what]
if (kind === undefined || !/^[a-z][a-z0-9_]{1,30}$/.test(name)) {
  process.stderr.write(
    'Usage: make new-provider NAME=x or make new-api NAME=x; small letters, digits and _, such as my_runtime.\n',
  )
  process.exitCode = 64
} else {
  begin(kind, name)
  process.stdout.write(`${kind.next(name).join('\n')}\n`)
}
