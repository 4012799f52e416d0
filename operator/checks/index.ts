/** Checks for settings that have no effect, or a wrong one, in a cluster. Messages appear in this order. */
import type { Finding } from '../../dataplane/config/judgement/problems.ts'
import type { ClusterCheck, ClusterFacts } from './contract.ts'
import { filesOfOurOwn } from './files.ts'
import { imageKnowsTls, reachableListener, routeSpeaksTls } from './listener.ts'
import { nameableMetrics, nameableObjects } from './name.ts'
import { passwordsElsewhere } from './passwords.ts'
import { replicasHaveEffect } from './scale.ts'
import { documentFits } from './size.ts'
import { variablesHaveEffect } from './variables.ts'

const CHECKS: readonly ClusterCheck[] = [
  nameableObjects,
  nameableMetrics,
  filesOfOurOwn,
  passwordsElsewhere,
  reachableListener,
  routeSpeaksTls,
  imageKnowsTls,
  replicasHaveEffect,
  variablesHaveEffect,
  documentFits,
]

export function checkInCluster(facts: ClusterFacts): Finding[] {
  return CHECKS.flatMap((check) => check(facts))
}
