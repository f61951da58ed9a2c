"""`foretell bench capacity`: predictions of the performance model beside real pipelines on this machine."""
