/** What every check of a resource takes and returns. */
import type { Finding } from '../../dataplane/config/problems.ts'
import type { Section } from '../../dataplane/config/schema.ts'
import type { KubeObject } from '../objects.ts'

export interface ClusterFacts {
  readonly gateway: KubeObject
  /** Checked, with defaults. */
  readonly gw: Section
}

export type ClusterCheck = (facts: ClusterFacts) => Finding[]
