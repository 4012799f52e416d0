/** The arguments and the result of every check of a resource. */
import type { Finding } from '../../dataplane/config/judgement/problems.ts'
import type { Section } from '../../dataplane/schema/index.ts'
import type { KubeObject } from '../kube/objects.ts'

export interface ClusterFacts {
  readonly gateway: KubeObject
  /** The checked configuration, with defaults. */
  readonly gw: Section
}

export type ClusterCheck = (facts: ClusterFacts) => Finding[]
