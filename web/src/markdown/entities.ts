// HTML character references. They decode to text, never to HTML. HTML defines 2,231 names; this table has those
// of HTML 4 and the few later ones that models write.

/** The names of U+00A0 to U+00FF, in order. */
const LATIN =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro " +
  "para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil " +
  "Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave " +
  "Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute " +
  "thorn yuml";

/** The names of U+0391 to U+03A9 and of U+03B1 to U+03C9, in order. There is no capital final sigma. */
const GREEK =
  "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi " +
  "Psi Omega - - - - - - - alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho " +
  "sigmaf sigma tau upsilon phi chi psi omega";

/** All other names, each followed by its code point in hexadecimal. */
const OTHERS =
  "amp 26 lt 3c gt 3e quot 22 apos 27 num 23 dollar 24 percnt 25 lpar 28 rpar 29 ast 2a plus 2b comma 2c period 2e " +
  "sol 2f colon 3a semi 3b equals 3d quest 3f commat 40 lsqb 5b lbrack 5b bsol 5c rsqb 5d rbrack 5d lowbar 5f grave 60 " +
  "lcub 7b lbrace 7b verbar 7c vert 7c rcub 7d rbrace 7d OElig 152 oelig 153 Scaron 160 scaron 161 Yuml 178 fnof 192 " +
  "circ 2c6 tilde 2dc thetasym 3d1 upsih 3d2 straightphi 3d5 piv 3d6 varepsilon 3f5 " +
  "ensp 2002 emsp 2003 thinsp 2009 hairsp 200a zwnj 200c zwj 200d lrm 200e rlm 200f hyphen 2010 ndash 2013 mdash 2014 " +
  "lsquo 2018 rsquo 2019 sbquo 201a ldquo 201c rdquo 201d bdquo 201e dagger 2020 Dagger 2021 bull 2022 hellip 2026 " +
  "permil 2030 prime 2032 Prime 2033 lsaquo 2039 rsaquo 203a oline 203e frasl 2044 euro 20ac image 2111 weierp 2118 " +
  "real 211c trade 2122 alefsym 2135 larr 2190 uarr 2191 rarr 2192 darr 2193 harr 2194 crarr 21b5 lArr 21d0 uArr 21d1 " +
  "rArr 21d2 dArr 21d3 hArr 21d4 forall 2200 part 2202 exist 2203 empty 2205 nabla 2207 isin 2208 notin 2209 ni 220b " +
  "prod 220f sum 2211 minus 2212 lowast 2217 radic 221a prop 221d infin 221e ang 2220 and 2227 or 2228 cap 2229 " +
  "cup 222a int 222b there4 2234 sim 223c cong 2245 asymp 2248 ne 2260 equiv 2261 le 2264 ge 2265 sub 2282 sup 2283 " +
  "nsub 2284 sube 2286 supe 2287 oplus 2295 otimes 2297 perp 22a5 sdot 22c5 lceil 2308 rceil 2309 lfloor 230a " +
  "rfloor 230b lang 27e8 rang 27e9 loz 25ca star 2606 starf 2605 phone 260e spades 2660 clubs 2663 hearts 2665 " +
  "diams 2666 check 2713 cross 2717";

const CHARACTERS = new Map<string, string>();
LATIN.split(" ").forEach((name, at) => CHARACTERS.set(name, String.fromCodePoint(0xa0 + at)));
GREEK.split(" ").forEach((name, at) => CHARACTERS.set(name, String.fromCodePoint(0x391 + at)));
for (const [, name = "", code = ""] of OTHERS.matchAll(/(\S+) (\S+)/g))
  CHARACTERS.set(name, String.fromCodePoint(Number.parseInt(code, 16)));

/** Decodes the character references in a text. An unknown name stays as written. */
export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]\w*));/g,
    (whole, decimal: string | undefined, hex: string | undefined, name: string | undefined) => {
      if (name !== undefined) return CHARACTERS.get(name) ?? whole;
      return character(decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal));
    },
  );
}

/** Returns the character of a code point, or U+FFFD for an invalid one, as in CommonMark. */
function character(code: number): string {
  const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? String.fromCodePoint(code) : "\ufffd";
}
