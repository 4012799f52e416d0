/** The chart for tests: rendered by the real Helm, of both majors, into objects. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { providePrograms } from './programs.ts'

export const CHART = join(import.meta.dirname, '../../../charts/gw')
export const HELMS = ['helm', 'helm4'] as const
/** An API server of this version is what the cluster tests run. */
const KUBERNETES = '1.34.4'

export type Helm = (typeof HELMS)[number]

export interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** Names of the tested value sets: the defaults, and each file in `ci`. */
export const VALUE_SETS: readonly string[] = [
  'defaults',
  ...readdirSync(join(CHART, 'ci')).map((file) => file.replace(/-values\.yaml$/, '')),
]

export function valuesFlags(set: string): string[] {
  return set === 'defaults' ? [] : ['--values', join(CHART, `ci/${set}-values.yaml`)]
}

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs Helm with an empty home, so that no plugin or repository of the machine takes part. */
export async function runHelm(
  helm: Helm,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const { [helm]: program = helm } = await providePrograms([helm])
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', HELM_CACHE_HOME: '/tmp', ...env },
  })
  return { status, stdout, stderr }
}

/** The output of `helm template`, as text. */
export async function renderText(set: string, helm: Helm = 'helm', flags: readonly string[] = []) {
  const { status, stdout, stderr } = await runHelm(helm, [
    'template',
    'gw',
    CHART,
    '--namespace=gw-system',
    `--kube-version=${KUBERNETES}`,
    ...valuesFlags(set),
    ...flags,
  ])
  if (status !== 0) throw new Error(`helm template with ${set} ended with ${status}:\n${stderr}`)
  return stdout
}

const rendered = new Map<string, Promise<Rendered[]>>()

export async function render(set: string): Promise<Rendered[]> {
  const known = rendered.get(set) ?? renderText(set).then(objectsOf)
  rendered.set(set, known)
  return await known
}

export function objectsOf(text: string): Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    const object: Rendered | null = document.toJS()
    return object === null ? [] : [object]
  })
}

export function readChart(file: string): string {
  return readFileSync(join(CHART, file), 'utf8')
}

interface Container {
  readonly name: string
  readonly image: string
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly resources?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env?: readonly { readonly name: string; readonly valueFrom?: object }[]
  readonly livenessProbe?: object
  readonly readinessProbe?: object
  readonly [field: string]: unknown
}

export interface PodSpec {
  readonly containers: readonly Container[]
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly affinity?: { readonly podAntiAffinity?: object }
  readonly volumes?: readonly Readonly<Record<string, unknown>>[]
  readonly [field: string]: unknown
}

export interface PodSource {
  readonly owner: Rendered
  readonly labels: Readonly<Record<string, string>>
  readonly spec: PodSpec
}

/** Every pod that the objects create. */
export function podsOf(objects: readonly Rendered[]): PodSource[] {
  return objects.flatMap((owner) => {
    // The forms of Kubernetes; a missing field shows in the rule that reads it.
    const spec = owner.spec as { template?: { metadata?: Rendered['metadata']; spec: PodSpec } }
    if (owner.kind === 'Pod') {
      return [{ owner, labels: owner.metadata.labels ?? {}, spec: owner.spec as PodSpec }]
    }
    if (spec?.template === undefined) return []
    return [{ owner, labels: spec.template.metadata?.labels ?? {}, spec: spec.template.spec }]
  })
}
