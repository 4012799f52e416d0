/** Writes the generated parts of the chart: resource types, rights, dashboard, schema for kustomize, values. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { type Grant, ITS_CONFIGURATION, policyRules } from '../operator/rbac.ts'
import { makeDashboard } from './dashboard.ts'
import { makeMergeSchema } from './kustomize.ts'
import { readValues, type Value } from './values.ts'

const CHART = join(import.meta.dirname, 'gw')
const MANIFESTS = join(import.meta.dirname, '../crds/manifests')
const MADE = 'Made by `make generate`; change the code instead.'

function writeDefinitions(): void {
  const folder = join(CHART, 'templates/crds')
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(MANIFESTS)) {
    const text = readFileSync(join(MANIFESTS, name), 'utf8')
    writeFileSync(join(folder, name), templated(text))
  }
}

/** The chart compares it with that of the types in the cluster. */
function writeTypesVersion(): void {
  const { metadata } = parse(readFileSync(join(MANIFESTS, 'gatewayconfigs.yaml'), 'utf8'))
  const version = metadata.annotations['inference.gw/bundle-version']
  writeFileSync(
    join(CHART, 'templates/_types.tpl'),
    `{{/* ${MADE} */}}\n{{- define "gw.typesVersion" -}}${version}{{- end -}}\n`,
  )
}

/** Unchanged, except for the release's additions to its metadata. */
function templated(manifest: string): string {
  const [, ...lines] = manifest.replaceAll('{{', '{{ "{{" }}').trimEnd().split('\n')
  const at = lines.indexOf('  annotations:')
  if (at === -1) throw new Error('the definition has no annotations')
  const labels = ['  labels:', '    {{- include "gw.labels" . | nindent 4 }}']
  const kept = [
    '    {{- if .Values.crds.keep }}',
    '    helm.sh/resource-policy: keep',
    '    {{- end }}',
  ]
  return [
    `# ${MADE}`,
    '{{- if .Values.crds.install }}',
    ...lines.slice(0, at),
    ...labels,
    lines[at],
    ...kept,
    ...lines.slice(at + 1),
    '{{- end }}',
    '',
  ].join('\n')
}

function writeRules(): void {
  const part = (where: Grant['where']) =>
    `{{- define "gw.rules.${where}" }}\n${stringify(policyRules(where), { lineWidth: 0 })}{{- end }}\n`
  const parts = [
    part('watched'),
    part('http-routes'),
    part('key-secrets'),
    part('inference-pools'),
    part('own'),
    part('types'),
    part('webhook-own'),
    part('webhook-cluster'),
  ]
  const text = `{{/* ${MADE} */}}\n${parts.join('\n')}`
  writeFileSync(
    join(CHART, 'templates/_rules.tpl'),
    text.replaceAll(ITS_CONFIGURATION, '{{ include "gw.clusterName" . }}'),
  )
}

function writeMergeSchema(): void {
  const definition = parse(readFileSync(join(MANIFESTS, 'gatewayconfigs.yaml'), 'utf8'))
  writeFileSync(
    join(CHART, 'gitops/kustomize/openapi.generated.json'),
    `${JSON.stringify(makeMergeSchema(definition), null, 2)}\n`,
  )
}

function writeDashboard(): void {
  writeFileSync(
    join(CHART, 'files/dashboard.generated.json'),
    `${JSON.stringify(makeDashboard(), null, 2)}\n`,
  )
}

function writeTable(): void {
  const file = join(CHART, 'docs/reference.md')
  const text = readFileSync(file, 'utf8')
  const table = /<!-- generated: values -->[\s\S]*?<!-- end -->/
  if (!table.test(text)) throw new Error('charts/gw/docs/reference.md has no place for the values')
  const rows = readValues(readFileSync(join(CHART, 'values.yaml'), 'utf8')).map(row)
  const head = ['| value | default | meaning |', '| --- | --- | --- |']
  const made = ['<!-- generated: values -->', '', ...head, ...rows, '', '<!-- end -->'].join('\n')
  writeFileSync(
    file,
    text.replace(table, () => made),
  )
}

function row({ path, initial, meaning }: Value): string {
  return `| \`${path}\` | \`${JSON.stringify(initial)}\` | ${meaning.replaceAll('|', '\\|')} |`
}

writeDefinitions()
writeTypesVersion()
writeRules()
writeDashboard()
writeMergeSchema()
writeTable()
