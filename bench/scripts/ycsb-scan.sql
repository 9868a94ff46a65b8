\if :zipfian
\set thread 1 + permute(random_zipfian(1, :threads, 1.001) - 1, :threads)
\else
\set thread random(1, :threads)
\endif
\set post random(1, :posts)
\set length random(1, 100)
SELECT * FROM bench_posts WHERE thread = :thread AND post >= :post ORDER BY post LIMIT :length;
