/** The languages of the studio, and the texts in the one that is chosen. A language is a file and a line here. */
import { useCallback } from 'react';
import { type I18nProvider, type TranslationMessages, useTranslate } from 'ra-core';
import polyglotI18nProvider from 'ra-i18n-polyglot';
import { de } from './de.ts';
import { en, type TextKey, type Texts } from './en.ts';

interface Language {
  readonly name: string;
  readonly texts: Texts;
}

export const LANGUAGES: Readonly<Record<string, Language>> = {
  en: { name: 'English', texts: en },
  de: { name: 'Deutsch', texts: de },
};

/** The first of the reader's languages that there is. */
export const preferredLanguage = (): string =>
  navigator.languages.map((tag) => tag.split('-')[0] ?? '').find((tag) => tag in LANGUAGES) ?? 'en';

/** The reader's own kind of a language: en-GB writes dates in another way than en-US. */
export const localeOf = (language: string): string =>
  navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;

export const createTexts = (): I18nProvider =>
  polyglotI18nProvider(
    // The messages of the library are never shown.
    (locale) => ({ ...(LANGUAGES[locale]?.texts ?? en) }) as unknown as TranslationMessages,
    preferredLanguage(),
    Object.entries(LANGUAGES).map(([locale, { name }]) => ({ locale, name })),
    { allowMissing: true },
  );

export type Say = (key: TextKey, values?: Readonly<Record<string, string | number>>) => string;

export function useText(): Say {
  const translate = useTranslate();
  return useCallback((key, values) => translate(key, values), [translate]);
}

/** A number with the marks between its thousands that the language of the page has. */
export const numberText = (value: number): string => value.toLocaleString(document.documentElement.lang);

/** A title within an English sentence: "New order", but "New VAT rate". Other languages keep its first letter. */
export const inSentence = (title: string): string =>
  document.documentElement.lang.startsWith('en') && /^\p{Lu}\p{Ll}/u.test(title)
    ? title.charAt(0).toLowerCase() + title.slice(1)
    : title;
