package labplatform.search;

import java.io.Reader;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.core.UpperCaseFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.miscellaneous.LengthFilter;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.miscellaneous.TrimFilter;
import org.apache.lucene.analysis.miscellaneous.TruncateTokenFilter;
import org.apache.lucene.analysis.ngram.EdgeNGramTokenFilter;
import org.apache.lucene.analysis.ngram.NGramTokenFilter;
import org.apache.lucene.analysis.pattern.PatternReplaceCharFilter;
import org.apache.lucene.analysis.pattern.PatternReplaceFilter;
import org.apache.lucene.analysis.reverse.ReverseStringFilter;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.CharFilterFactory;
import org.elasticsearch.index.analysis.NormalizingCharFilterFactory;
import org.elasticsearch.index.analysis.NormalizingTokenFilterFactory;
import org.elasticsearch.index.analysis.PreConfiguredTokenFilter;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;

/** The filters, with the product's names, settings and defaults, straight on Lucene's classes. */
final class Filters {
    private Filters() {}

    /** Wraps a stream of tokens in one filter. */
    private interface Wrap {
        TokenStream around(TokenStream tokens, Settings settings);
    }

    static Map<String, AnalysisProvider<TokenFilterFactory>> tokenFilters() {
        Map<String, AnalysisProvider<TokenFilterFactory>> all = new TreeMap<>();
        all.put("asciifolding", normalizing((in, s) -> new ASCIIFoldingFilter(in, s.getAsBoolean("preserve_original", false))));
        all.put("edge_ngram", filter((in, s) -> new EdgeNGramTokenFilter(
            in, s.getAsInt("min_gram", 1), s.getAsInt("max_gram", 2), s.getAsBoolean("preserve_original", false))));
        all.put("length", filter((in, s) -> new LengthFilter(in, s.getAsInt("min", 0), s.getAsInt("max", Integer.MAX_VALUE))));
        all.put("ngram", filter((in, s) -> new NGramTokenFilter(
            in, s.getAsInt("min_gram", 1), s.getAsInt("max_gram", 2), s.getAsBoolean("preserve_original", false))));
        all.put("pattern_replace", normalizing((in, s) -> new PatternReplaceFilter(
            in, Pattern.compile(s.get("pattern")), s.get("replacement", ""), s.getAsBoolean("all", true))));
        all.put("remove_duplicates", filter((in, s) -> new RemoveDuplicatesTokenFilter(in)));
        all.put("reverse", filter((in, s) -> new ReverseStringFilter(in)));
        all.put("trim", normalizing((in, s) -> new TrimFilter(in)));
        all.put("truncate", filter((in, s) -> new TruncateTokenFilter(in, s.getAsInt("length", 10))));
        all.put("uppercase", normalizing((in, s) -> new UpperCaseFilter(in)));
        return all;
    }

    static List<PreConfiguredTokenFilter> preConfigured() {
        return List.of(
            PreConfiguredTokenFilter.singleton("asciifolding", true, ASCIIFoldingFilter::new),
            PreConfiguredTokenFilter.singleton("edge_ngram", false, false, in -> new EdgeNGramTokenFilter(in, 1)),
            PreConfiguredTokenFilter.singleton("reverse", false, ReverseStringFilter::new),
            PreConfiguredTokenFilter.singleton("trim", true, TrimFilter::new),
            PreConfiguredTokenFilter.singleton("uppercase", true, UpperCaseFilter::new));
    }

    static Map<String, AnalysisProvider<CharFilterFactory>> charFilters() {
        return Map.of("pattern_replace", AnalysisPlugin.requiresAnalysisSettings((index, environment, name, settings) -> {
            Pattern pattern = Pattern.compile(settings.get("pattern"));
            String replacement = settings.get("replacement", "");
            return new NormalizingCharFilterFactory() {
                @Override
                public String name() {
                    return name;
                }

                @Override
                public Reader create(Reader in) {
                    return new PatternReplaceCharFilter(pattern, replacement, in);
                }
            };
        }));
    }

    /** A filter that a keyword's normalizer may use too: it maps one token to one token. */
    private static AnalysisProvider<TokenFilterFactory> normalizing(Wrap wrap) {
        return provider(wrap, (name, settings) -> new NormalizingTokenFilterFactory() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public TokenStream create(TokenStream in) {
                return wrap.around(in, settings);
            }
        });
    }

    private static AnalysisProvider<TokenFilterFactory> filter(Wrap wrap) {
        return provider(wrap, (name, settings) -> new TokenFilterFactory() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public TokenStream create(TokenStream in) {
                return wrap.around(in, settings);
            }
        });
    }

    private interface Make {
        TokenFilterFactory factory(String name, Settings settings);
    }

    /**
     * "requiresAnalysisSettings" keeps the server from making every filter without settings for every index, which
     * fails for those that need some. One trial run refuses bad settings when the index is made.
     */
    private static AnalysisProvider<TokenFilterFactory> provider(Wrap wrap, Make make) {
        return AnalysisPlugin.requiresAnalysisSettings((index, environment, name, settings) -> {
            wrap.around(new KeywordTokenizer(), settings);
            return make.factory(name, settings);
        });
    }
}
