package labplatform.search;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;

import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.apache.lucene.analysis.ngram.EdgeNGramTokenizer;
import org.apache.lucene.analysis.pattern.PatternTokenizer;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.PreConfiguredTokenizer;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;

/** The tokenizers beside the built-in standard one, with the product's names, settings and defaults. */
final class Tokenizers {
    private Tokenizers() {}

    static Map<String, AnalysisProvider<TokenizerFactory>> all() {
        return Map.of(
            "edge_ngram", tokenizer(s -> new EdgeNGramTokenizer(s.getAsInt("min_gram", 1), s.getAsInt("max_gram", 2))),
            "keyword", tokenizer(s -> new KeywordTokenizer()),
            "pattern", tokenizer(s -> new PatternTokenizer(Pattern.compile(s.get("pattern", "\\W+")), s.getAsInt("group", -1))),
            "whitespace", tokenizer(s -> new WhitespaceTokenizer()));
    }

    static List<PreConfiguredTokenizer> preConfigured() {
        return List.of(
            PreConfiguredTokenizer.singleton("keyword", KeywordTokenizer::new),
            PreConfiguredTokenizer.singleton("whitespace", WhitespaceTokenizer::new));
    }

    /** One trial run refuses bad settings when the index is made. */
    private static AnalysisProvider<TokenizerFactory> tokenizer(Function<Settings, Tokenizer> make) {
        return (index, environment, name, settings) -> {
            make.apply(settings);
            return TokenizerFactory.newFactory(name, () -> make.apply(settings));
        };
    }
}
