/** Writes the chart as plain manifests, for users without Helm: the resource types, and the rest. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHART, runHelm } from '../helpers/kubernetes/chart.ts'

const FOLDER = join(import.meta.dirname, '../../.cache/manifests')
const NAMESPACE = 'gw-system'

/** The file itself, or Helm's message if it refuses the values. */
async function write(name: string, flags: readonly string[]): Promise<string> {
  const always = ['--no-hooks', `--namespace=${NAMESPACE}`, '--kube-version=1.30.0']
  const { status, stdout, stderr } = await runHelm('helm', [
    'template',
    'gw',
    CHART,
    ...always,
    ...flags,
  ])
  if (status !== 0) throw new Error(stderr)
  const file = join(FOLDER, name)
  writeFileSync(file, stdout)
  return file
}

const [values] = process.argv.slice(2)
const given = values === undefined ? [] : ['--values', values]
mkdirSync(FOLDER, { recursive: true })
const files = [
  await write('crds.yaml', ['--show-only=templates/crds/*.yaml']),
  await write('gw.yaml', [...given, '--set=crds.install=false']),
]
process.stdout.write(`kubectl create namespace ${NAMESPACE}\n`)
for (const file of files) process.stdout.write(`kubectl apply --server-side -f ${file}\n`)
