/** Generated files match the code. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const GENERATORS: Readonly<Record<string, readonly string[]>> = {
  'dataplane/config/schema-generate.ts': ['dataplane/config/schema.generated.json'],
  'dataplane/generate.ts': [
    ...['admin', 'api', 'attempts', 'errors', 'metrics', 'models', 'pod', 'tracing'].map(
      (page) => `dataplane/docs/${page}.md`,
    ),
    'dataplane/telemetry/trace/code.ts',
  ],
  'cli/generate.ts': ['cli/docs/json.md', 'cli/docs/reference.md'],
  'test/import/generate.ts': ['cli/docs/moving.md'],
  'crds/generate.ts': ['crds/manifests/gatewayconfigs.yaml', 'crds/manifests/gatewaykeys.yaml'],
  'charts/generate.ts': [
    'charts/gw/docs/reference.md',
    'charts/gw/files/dashboard.generated.json',
    'charts/gw/templates/_rules.tpl',
    'charts/gw/templates/_types.tpl',
    'charts/gw/templates/crds/gatewayconfigs.yaml',
    'charts/gw/templates/crds/gatewaykeys.yaml',
  ],
}

for (const [generator, files] of Object.entries(GENERATORS)) {
  test(`${generator} changes nothing; otherwise run make generate`, () => {
    const before = files.map(read)
    const run = spawnSync(process.execPath, [generator], { cwd: ROOT, encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    assert.deepEqual(files.map(read), before)
  })
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
