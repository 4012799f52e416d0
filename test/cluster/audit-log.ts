/** The API server's audit log: the writes of our kinds, and the decisions of admission. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface AuditEvent {
  readonly verb: string
  readonly objectRef: { readonly resource: string; readonly name?: string }
  readonly responseStatus: { readonly code: number }
  readonly annotations?: Readonly<Record<string, string>>
}

/** Edits of our kinds, without statuses and bodies. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'Metadata',
      verbs: ['create', 'update', 'patch'],
      resources: [
        { group: 'inference.gw', resources: ['gatewayconfigs', 'gatewaykeys', 'tenantpolicies'] },
      ],
    },
    { level: 'None' },
  ],
}

const pathOf = (folder: string) => join(folder, 'audit.jsonl')

export async function auditArguments(folder: string): Promise<string[]> {
  const policy = join(folder, 'audit-policy.json')
  await writeFile(policy, JSON.stringify(POLICY))
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${pathOf(folder)}`]
}

/** In the order of the answers. The API server writes each entry before it answers. */
export async function auditEvents(folder: string): Promise<AuditEvent[]> {
  const text = await readFile(pathOf(folder), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}
