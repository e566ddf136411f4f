// Decides whether a page is watched: consent, the browser's privacy signals, and the sample rate.

import { installTap, uninstallTap } from "../tap/install.js";

/** The only consent with which anything is stored or sent. */
export const GRANTED = "granted";

/**
 * Whether the user refuses to be watched, or the page is not in the sample. If so, it removes the tap that a stub may
 * have installed.
 */
export function isExcluded({ sampleRate, respectSignals, consent = GRANTED }) {
  const { globalPrivacyControl, doNotTrack } = navigator;
  const refused = consent == "denied" || ((globalPrivacyControl || doNotTrack == 1) && respectSignals + "" != "false");
  const rate = parseFloat(sampleRate);
  // Without a sample rate nothing is stored.
  const excluded = refused || drawSample(rate >= 0 && consent) >= rate;
  if (excluded) uninstallTap(window, installTap(window));
  return excluded;
}

/**
 * A tab draws one random number for all its pages. Before consent, and in a page that may not store anything, each page
 * draws its own.
 */
function drawSample(consent) {
  let drawn = Math.random();
  try {
    if (consent == GRANTED) drawn = sessionStorage.llmRum ??= drawn;
  } catch {}
  return +drawn;
}
